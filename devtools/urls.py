"""The lab's addresses and those of the developers' pages (`HIGHWATER_DEV=1`)."""

from django.urls import path

from devtools.gallery.views import gallery
from lab.urls import handler404
from lab.urls import urlpatterns as lab_urlpatterns

__all__ = ["handler404", "urlpatterns"]

urlpatterns = [*lab_urlpatterns, path("dev/gallery/", gallery, name="gallery")]
