"""The course: lessons in chapters, and the data of the front page and of the lessons' pages."""
