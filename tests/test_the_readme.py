"""README says what the code says."""

from support.readme import BLOCKS, README, with_tables


def test_the_generated_tables_are_up_to_date():
    text = README.read_text("utf-8")
    for name in BLOCKS:
        assert f"<!-- {name}: generated" in text
    assert with_tables(text) == text, "run: python tests/support/readme.py"


def test_there_are_two_set_up_commands():
    text = README.read_text("utf-8")
    assert text.count("\n```sh\n") == 2
