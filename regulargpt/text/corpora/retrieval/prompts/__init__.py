"""Retrieval in English, for networks that follow instructions: what the thesis asked Flan-T5 (section 5.5.2),
and what RULER asks.

base       a prompt and its answer; a prompt of so many tokens
lines      LongEval's lines: "line torrid-kid: REGISTER_CONTENT is <24169>" (Li et al. 2023)
passkey    a pass key in filler sentences (Mohtashami and Jaggi 2023)
ruler      numbers of keys in noise, and chains of variables (RULER, Hsieh et al. 2024)
topic      LongEval's conversation in topics, of which the first is requested (Li et al. 2023)
names      adjectives and nouns, for names of lines
topics     topics and exchanges about any of them, written for this project

The wording around lines and the pass key is that of the papers. LongEval's topics and conversations are a data set;
topics and conversations here are ours, in the same form and about as long.
"""

from regulargpt.text.corpora.retrieval.prompts.base import NeedleTask, Prompt, PromptTask, of_tokens
from regulargpt.text.corpora.retrieval.prompts.lines import LinePrompts
from regulargpt.text.corpora.retrieval.prompts.passkey import PasskeyPrompts
from regulargpt.text.corpora.retrieval.prompts.ruler import (
    MultikeyPrompts,
    MultiqueryPrompts,
    MultivaluePrompts,
    SinglePrompts,
    VariablePrompts,
)
from regulargpt.text.corpora.retrieval.prompts.topic import TopicPrompts

PROMPTS: dict[str, PromptTask] = {task.name: task for task in (TopicPrompts(), LinePrompts(), PasskeyPrompts())}
"""The tasks by name, in the order of the published table."""
NEEDLES: dict[str, NeedleTask] = {
    task.name: task
    for task in (
        PasskeyPrompts(),
        SinglePrompts(),
        MultikeyPrompts(),
        MultivaluePrompts(),
        MultiqueryPrompts(),
        LinePrompts(),
        VariablePrompts(),
    )
}
"""Those whose needle stands at a depth of one's choice, by name."""

__all__ = ["NEEDLES", "PROMPTS", "NeedleTask", "Prompt", "PromptTask", "of_tokens"]
