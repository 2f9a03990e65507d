"""The debug adapter: a simulated run, or a recorded history, as a debug session. One file a feature.

``server`` moves messages, ``protocol`` knows their shapes, ``session`` what may come when; ``course`` is what is
debugged (``live`` or ``recorded``), ``motion`` how it moves, and the rest answers requests about where it stands.
"""
