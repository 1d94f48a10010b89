/** The text with another character in the middle, where every bit of base64url is significant. */
export function tampered(text: string) {
  const middle = text.length >> 1;
  return `${text.slice(0, middle)}${text[middle] === 'A' ? 'B' : 'A'}${text.slice(middle + 1)}`;
}
