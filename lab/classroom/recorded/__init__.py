"""A recorded class: the events of its recording, the positions of its labs, and what pages get of it.

The recording of a class is its log without what must not be kept (`filtering.py`), folded again for each viewer
(`playback.py`). While the class is live it is made from the working log, so that latecomers can replay what they have
missed.
"""
