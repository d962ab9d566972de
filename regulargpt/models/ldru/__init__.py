"""The log-depth recurrent unit (LDRU): a binary tree of one operator over the symbols."""
