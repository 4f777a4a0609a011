"""A recorded class: which events its recording has, where its labs stood, and what a page is given of it.

The recording of a class is its log without what must not be kept (`filtering.py`), folded again for whoever looks
(`playback.py`). While the class lives it is made from the working log, so that who comes late can replay what they
have missed.
"""
