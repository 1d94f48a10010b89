/**
 * Return addresses that lead to another site, collected from known attacks: other spellings of slashes,
 * characters that browsers drop or treat as slashes, schemes, user parts, and hosts in odd notations.
 */
import parts from './open-redirects.json' with { type: 'json' };

/** Each address as it is and, if that differs, URL-decoded. */
export function openRedirects() {
  const all = parts.beginnings.flatMap((beginning) =>
    parts.hosts.flatMap((host) => parts.ends.map((end) => `${beginning}${host}${end}`)),
  );
  return [...new Set(all.flatMap((payload) => [payload, decoded(payload)]))];
}

function decoded(payload: string) {
  try {
    return decodeURIComponent(payload);
  } catch (error) {
    if (error instanceof URIError) return payload;
    throw error;
  }
}
