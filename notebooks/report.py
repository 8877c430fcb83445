"""Prints the revenue of every region in sales.csv. 01_quickstart.ipynb lets the agent change and run it."""

import csv
from collections import Counter

UNIT = "USD"  # TODO: ask which one

totals = Counter()
with open("sales.csv", newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        totals[row["region"]] += int(row["revenue"])

for region, revenue in sorted(totals.items()):
    print(f"{region:>6}: {revenue:>5} {UNIT}")
