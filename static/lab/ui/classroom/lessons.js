// The lessons of the course, on the pages of staff and of the projector.
import { signal } from "@preact/signals-core";

/** @import { Signal } from "@preact/signals-core" */
/** @typedef {{ slug: string, number: string, title: string }} Lesson */
/** @typedef {{ title: string, lessons: Lesson[] }} Chapter */

/** In the language of the page. The page of a lab sets them. @type {Signal<Chapter[]>} */
export const chapters = signal(JSON.parse(document.getElementById("class-lessons")?.textContent ?? "[]"));

const all = () => chapters.value.flatMap(({ lessons }) => lessons);

/** The number and title of a lesson; its slug if the course does not have it. @param {string} slug */
export function lessonName(slug) {
  const found = all().find((one) => one.slug === slug);
  return found ? `${found.number} ${found.title}` : slug;
}

/** The lesson that follows in the course; empty after the last one. @param {string} slug */
export function lessonAfter(slug) {
  const place = all().findIndex((one) => one.slug === slug);
  return place < 0 ? "" : all()[place + 1]?.slug ?? "";
}

/** The first lesson of the course. */
export const firstLesson = () => all()[0]?.slug ?? "";

/** The chapters, that of a lesson first. @param {string} slug */
export function chaptersFor(slug) {
  const own = chapters.value.filter(({ lessons }) => lessons.some((one) => one.slug === slug));
  return [...own, ...chapters.value.filter((chapter) => !own.includes(chapter))];
}
