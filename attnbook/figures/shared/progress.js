// The reader's answers and code, as a page of the book stores them. A notebook stores nothing.
/** @import { Progress } from "./types" */

/** @type {Pick<Progress, "read" | "write" | "follow">} */
const NOTHING = { read: () => null, write: () => true, follow: () => () => {} };

/** The storage of the page's site. */
export const progress = () => window.attnbookProgress ?? NOTHING;

/** The name under which the page stores what is done in a figure; empty in a notebook. @param {Element} el */
export const itemOf = (el) => el.closest("[data-attnbook-item]")?.getAttribute("data-attnbook-item") ?? "";
