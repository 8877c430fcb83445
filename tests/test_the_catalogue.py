"""The catalogue is what both seeds say, and the README's tables say what the code says."""

import jsonschema
import pytest

import cosh_tools
from cosh_tools.registry import ToolRegistry

LEVELS = {
    "ReadOnly": "Read Glob Grep WebFetch WebSearch ListMcpResources ReadMcpResource",
    "Write": "Write Edit NotebookEdit",
    "Execute": "Bash PowerShell",
    "None": (
        "TaskCreate TaskGet TaskUpdate TaskList TaskStop TaskOutput TodoWrite CronCreate CronDelete CronList "
        "EnterPlanMode ExitPlanMode EnterWorktree ExitWorktree ToolSearch AskUserQuestion SendMessage Brief Sleep "
        "Config Skill"
    ),
}
KINDS = {
    "ReadOnly": "read_file grep",
    "FileEdit": "edit write_file",
    "ShellExec": "shell",
    "ShellEvidence": "cosh_shell_evidence",
    "Other": "skill todo ask_user_question",
}


def test_there_are_exactly_the_33_tools_of_cc_tools_with_their_levels():
    tools = {tool.name: tool.permission_level.value for tool in cosh_tools.all_tools()}
    assert tools == {name: level for level, names in LEVELS.items() for name in names.split()}
    assert len(tools) == 33


def test_there_are_exactly_the_nine_tools_of_cosh_core_with_their_kinds():
    registry = ToolRegistry.with_defaults(shell_evidence=True)
    tools = {tool.name: tool.kind.value for tool in registry.tools()}
    assert tools == {name: kind for kind, names in KINDS.items() for name in names.split()}
    assert ToolRegistry.with_defaults().names() == sorted(set(tools) - {"cosh_shell_evidence"})


def test_task_is_added_by_the_query_layer_and_asks_like_a_command():
    task = ToolRegistry.for_notebook().find("Task")
    assert (task.kind.value, task.permission_level.value) == ("ShellExec", "Execute")


def test_find_tool_wants_the_exact_name():
    assert cosh_tools.find_tool("Bash").name == "Bash"
    for name in ("bash", "shell", "Nope", ""):
        assert cosh_tools.find_tool(name) is None


@pytest.mark.parametrize(
    "tool",
    [*cosh_tools.all_tools(), *ToolRegistry.with_defaults(shell_evidence=True).tools()],
    ids=lambda tool: tool.name,
)
def test_a_definition_is_a_draft_07_schema_whose_every_field_is_described(tool):
    definition = tool.to_definition()
    schema = dict(definition.input_schema)
    jsonschema.Draft7Validator.check_schema(schema)
    assert definition is tool.to_definition()
    assert (definition.name, schema["type"]) == (tool.name, "object")
    assert len(definition.description) > 20
    assert "$ref" not in str(schema)
    for name, field in schema["properties"].items():
        assert field.get("description"), f"{tool.name}.{name}"


def test_definitions_are_sorted_and_the_same_from_turn_to_turn():
    registry = ToolRegistry.for_notebook()
    first = registry.definitions()
    assert registry.definitions() is first
    assert [tool.name for tool in first] == sorted(tool.name for tool in first)


def test_an_alias_finds_its_face_and_unknown_names_find_nothing():
    registry = ToolRegistry.for_notebook()
    assert registry.find("read_file").name == "read_file"
    assert registry.find("Agent").name == "Task"
    assert registry.find("nope") is None
    assert ToolRegistry.with_defaults().find("WebFetch") is None
