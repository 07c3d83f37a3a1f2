// Characters of a text as figures show them. Nothing here touches the page.

/** A character that can be seen. @param {string} character */
export function visible(character) {
  if (/\s/u.test(character)) return "␣";
  if (/\p{M}/u.test(character)) return `◌${character}`;
  return /[\p{Cf}\p{Cc}]/u.test(character) ? "◦" : character;
}

/** Whether some of a text's letters are written from right to left. @param {string[]} text */
export function isRightToLeft(text) {
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u.test(text.join(""));
}

/** Into how many columns a text is cut, so that its rows are even. @param {number} count @param {number} most in a row */
export function columnsFor(count, most) {
  return Math.ceil(count / Math.ceil(count / most));
}
