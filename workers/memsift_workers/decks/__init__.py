"""The session's memory deck: memories keep their place in the prompt while a session lives.

What was there stays where it was and what is new is appended, so that each turn's prompt begins as the last
one did, and the prefix cache serves all of that.
"""
