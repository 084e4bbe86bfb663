"""A tiny model, and tokenizers with chat templates in the forms that models have."""

import pytest

from codegym.types import Action, Observation, Trajectory, Turn, call

#: Small templates in the ways of well-known ones.
TEMPLATES = {
    "hermes": (
        "{%- if tools %}<|im_start|>system\n{{ messages[0].content }}\n<tools>\n"
        "{%- for tool in tools %}\n{{ tool | tojson }}{% endfor %}\n</tools><|im_end|>\n"
        "{%- else %}<|im_start|>system\n{{ messages[0].content }}<|im_end|>\n{%- endif %}"
        "{%- for m in messages[(1 if messages[0].role == 'system' else 0):] %}"
        "{%- if m.role == 'tool' %}\n<|im_start|>user\n<tool_response>\n{{ m.content }}\n"
        "</tool_response><|im_end|>"
        "{%- else %}\n<|im_start|>{{ m.role }}\n{{ m.content }}"
        "{%- for c in m.tool_calls or [] %}\n<tool_call>\n"
        '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n'
        "</tool_call>{% endfor %}<|im_end|>{%- endif %}{%- endfor %}"
        "{%- if add_generation_prompt %}\n<|im_start|>assistant\n{%- endif %}"
    ),
    "llama": (
        "{%- if messages[0].role == 'system' %}<|start|>system<|/|>\n\n{{ messages[0].content }}"
        "{%- for tool in tools or [] %}\n{{ tool | tojson }}{% endfor %}<|eot|>"
        "{%- set messages = messages[1:] %}{%- endif %}{%- for m in messages %}"
        "{%- if m.tool_calls %}{%- if m.tool_calls | length != 1 %}"
        "{{ raise_exception('one call') }}{% endif %}<|start|>assistant<|/|>\n\n{{ m.content }}"
        '{"name": "{{ m.tool_calls[0].function.name }}", '
        '"parameters": {{ m.tool_calls[0].function.arguments | tojson }}}<|eot|>'
        "{%- elif m.role == 'tool' %}<|start|>ipython<|/|>\n\n{{ m.content | tojson }}<|eot|>"
        "{%- else %}<|start|>{{ m.role }}<|/|>\n\n{{ m.content | trim }}<|eot|>{%- endif %}"
        "{%- endfor %}{%- if add_generation_prompt %}<|start|>assistant<|/|>\n\n{% endif %}"
    ),
    "mistral": (
        "{{ bos_token }}{%- set ns = namespace(system='') %}{%- for m in messages %}"
        "{%- if m.role == 'system' %}{%- set ns.system = m.content + '\n\n' %}"
        "{%- elif m.role == 'user' %}"
        "{%- if loop.last and tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]"
        "{%- endif %}[INST]{{ ns.system }}{{ m.content }}[/INST]{%- set ns.system = '' %}"
        "{%- elif m.role == 'tool' %}"
        "{%- if m.tool_call_id | length != 9 %}{{ raise_exception('id of 9 letters') }}{% endif %}"
        '[TOOL_RESULTS]{"content": {{ m.content | tojson }}}[/TOOL_RESULTS]'
        "{%- elif m.tool_calls %}[TOOL_CALLS][{%- for c in m.tool_calls %}"
        '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
        "{%- endfor %}]{{ eos_token }}{%- else %}{{ m.content }}{{ eos_token }}{%- endif %}"
        "{%- endfor %}"
    ),
    "no_system": (
        "{%- for m in messages %}{%- if m.role not in ('user', 'assistant') %}"
        "{{ raise_exception('no such role') }}{% endif %}"
        "<turn>{{ m.role }}\n{{ m.content }}</turn>\n{%- endfor %}"
        "{%- if add_generation_prompt %}<turn>assistant\n{% endif %}"
    ),
}
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|start|>", "<|/|>", "<|eot|>", "<turn>", "</turn>"]
SPECIAL += ["[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "</s>"]
EOS = {"hermes": "<|im_end|>", "llama": "<|eot|>", "mistral": "</s>", "no_system": "</turn>"}
#: What tests and templates are likely to hold, so that sequences are short.
TEXTS = [call("bash", command="pytest -q"), call("edit", path="a.py", old="x", new="y"), "exit"]


@pytest.fixture(scope="session")
def tools():
    from codegym.envs.tools import load_tools

    return load_tools("default").functions


@pytest.fixture(scope="session")
def tokenizers():
    """By the form of its chat template; ``""`` has none."""
    pytest.importorskip("transformers")
    from codegym.agents.lm.tiny import train_tokenizer

    made = {}
    for name in [*TEMPLATES, ""]:
        tokenizer = train_tokenizer(TEXTS, 300)
        tokenizer.add_special_tokens({"extra_special_tokens": SPECIAL})
        tokenizer.add_tokens(["<tool_call>", "</tool_call>"])  # as some have them: not special
        tokenizer.chat_template = TEMPLATES.get(name)
        tokenizer.eos_token = EOS.get(name, "</s>")
        tokenizer.bos_token = "<|start|>" if name == "mistral" else None
        tokenizer.name_or_path = name
        made[name] = tokenizer
    return made


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The folder of a tiny model with random weights."""
    pytest.importorskip("torch")
    from codegym.agents.lm.tiny import make_tiny

    return make_tiny(tmp_path_factory.mktemp("tiny"), TEXTS, seed=1)


@pytest.fixture
def trajectory():
    """Makes a trajectory from actions and what they printed."""

    def make(*steps, thought=""):
        turns = tuple(
            Turn(Action(text, thought=thought), Observation("Fix it.", output, 9 - n, 0), 0.0, 0.1)
            for n, (text, output) in enumerate(steps)
        )
        return Trajectory("t", "p", 3, Observation("Fix it.", "", 9), turns)

    return make
