/**
 * The sign of the house: a gate of stones, as a file for the browser's tab and as a drawing in the page.
 */
import { constant } from './html.ts';

const SHAPE =
  '<rect width="32" height="32" rx="7" fill="#0a5aa8"/><path fill="#fff" d="M6 26V14a10 10 0 0 1 20 0v12h-6V14a4 4 0 0 0-8 0v12z"/><path stroke="#0a5aa8" stroke-width="1.6" d="M6 20h6M20 20h6M16 3.5V10M8.6 6.9l4.4 4.4M23.4 6.9 19 11.300"/>';

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${SHAPE}</svg>\n`;
export const DRAWING = constant(`<svg viewBox="0 0 32 32" aria-hidden="true">${SHAPE}</svg>`);
