"""The log-depth recurrent unit (LDRU): a binary tree of an operator over the symbols."""
