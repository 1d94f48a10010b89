/**
 * Where somebody may be sent after signing in: one of a few places of the portal itself, compared whole. There is
 * nothing to parse, so nothing that a browser could read otherwise (CWE-601).
 */

export const HOME = '/';
/** The part of the page on setting up kubectl: what other documents link to. */
export const SET_UP = '/#kubectl';

const TARGETS: readonly string[] = [HOME, SET_UP];

/** @param wish what a link or a form says, decoded; whatever is no such place becomes the start page */
export function redirectTarget(wish: string | null | undefined): string {
  return TARGETS.find((target) => target === wish) ?? HOME;
}
