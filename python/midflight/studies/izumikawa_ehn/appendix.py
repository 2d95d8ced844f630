"""x"""

EVERYTHING = ()
appendix = None
