"""The addresses of analytics, below the root."""

from django.urls import path

from lab.api import analytics as views

_BRANCH = "<slug:run>/<slug:branch>"

urlpatterns = [
    path(f"r/{_BRANCH}/analytics", views.page, name="analytics"),
    path(f"api/runs/{_BRANCH}/analytics/start", views.start),
    path(f"api/runs/{_BRANCH}/analytics/<slug:id>.json", views.job),
]
