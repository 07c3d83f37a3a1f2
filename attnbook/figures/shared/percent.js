// Shares in percent: as whole numbers, or with two digits.

/** A half goes up. @param {number} share */
export const inPercent = (share) => Math.round(100 * share);

/** @param {number} share */
export const inShortPercent = (share) => String(Number((100 * share).toPrecision(2)));
