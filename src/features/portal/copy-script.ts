/**
 * The only script of the portal's pages: it adds a button to each text that users copy. Like the style sheet
 * it is part of the page and allowed by its hash; without it one click selects the text.
 * https://w3c.github.io/clipboard-apis/#dom-clipboard-writetext
 */
import { hash } from 'node:crypto';

export const COPY_SCRIPT = `
for (const text of document.querySelectorAll('.copied > pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button quiet';
  button.textContent = 'Copy';
  button.title = 'Copy: ' + text.getAttribute('aria-label');
  button.addEventListener('click', () => {
    getSelection().selectAllChildren(text);
    navigator.clipboard.writeText(text.textContent).then(() => { button.textContent = 'Copied'; });
  });
  text.after(button);
}
`;

/** The script as a source expression of a Content Security Policy. */
export const COPY_SCRIPT_HASH = `sha256-${hash('sha256', COPY_SCRIPT, 'base64')}`;
