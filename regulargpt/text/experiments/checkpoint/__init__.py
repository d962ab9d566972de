"""Table 5.4 of the thesis with a T5 checkpoint on disk: `regulargpt reproduce table-5.4 --model hf:PATH`.

plan       what is asked: tasks, sizes, strategies, prompts; and what is refused
network    the checkpoint: tokens, temperatures, greedy answers
answers    what was answered, in files; a checkpoint's folder belongs to it alone
asking     everything that is not kept yet, one task, size and strategy after the other
claims     what the thesis says of real checkpoints, as sentences that can be tested
page       the page
command    the command behind the option
"""
