/**
 * Return addresses that lead to another site, collected from known attacks: other spellings of slashes,
 * characters that browsers drop or treat as slashes, schemes, user parts, and hosts in odd notations.
 */

const BEGINNINGS = [
  ...['//', '///', '////', '/\\', '\\/', '\\\\', '\\', '/\\/', '\\/\\/', '/\\\\', '//\\', '\\//'],
  ...[
    '/\t/',
    '/\t\\',
    '/ /',
    '/ \\',
    '/\r/',
    '/\r\\',
    '/\n/',
    '/\n\\',
    '/\v/',
    '/\f/',
    '/\0/',
    '\t//',
    ' //',
    '\n//',
  ],
  ...[
    '/./\\',
    '/.//',
    '/..//',
    '/../\\',
    '/./',
    '/%2e%2e//',
    '/;//',
    '/?//',
    '/#//',
    '/%2f',
    '/%5c',
    '/%09/',
    '/%0d/',
    '/%0a/',
    '/%00/',
  ],
  ...[
    '%2f%2f',
    '%5c%5c',
    '/%252f',
    '/%255c',
    '%252f%252f',
    '/%e2%81%84',
    '/\u2044',
    '/\uff0f',
    '\uff0f\uff0f',
    '\u3031',
    '/\u2215',
  ],
  ...[
    'http://',
    'https://',
    'HTTPS://',
    'https:',
    'https:/',
    'https:///',
    'http:\\\\',
    'https:\\/\\/',
    'ht\ttps://',
    'https%3a//',
    '://',
    ':',
  ],
  ...[
    'javascript:',
    'JaVaScRiPt:',
    'java\tscript:',
    'javascript://',
    'data:text/html,',
    'vbscript:',
    'ftp://',
    'file://',
    'ws://',
    'blob:',
  ],
  ...['@', '//@', '/@', '.', '..', './/', '//;@', '/login/oidc?next=//', '/logout/..//', '/%', '/~//'],
];

const HOSTS = [
  ...[
    'evil.com',
    'evil.com:443',
    'user:pass@evil.com',
    'evil%E3%80%82com',
    'evil\u3002com',
    'www.evil.com%00.example.com',
  ],
  ...[
    'login.example.com@evil.com',
    'login.example.com.evil.com',
    'evil.com#login.example.com',
    'evil.com?login.example.com',
  ],
  ...['3221226219', '0xc0.0x00.0x02.0xeb', '[::ffff:192.0.2.235]'],
];

const ENDS = ['', '/', '/%2f..', '/..;/', '?next=/', '#/'];

/** Each address as it is and, if that differs, URL-decoded. */
export function openRedirects() {
  const all = BEGINNINGS.flatMap((beginning) =>
    HOSTS.flatMap((host) => ENDS.map((end) => `${beginning}${host}${end}`)),
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
