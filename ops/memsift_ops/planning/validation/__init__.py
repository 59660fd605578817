"""The simulator held against the real engine: does it predict what it has not seen?"""
