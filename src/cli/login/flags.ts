/** The options of `stonegate login` that stand beside those of either way to log in. For `parseArgs`. */

export const loginFlags = {
  keystone: { type: 'boolean' },
  oidc: { type: 'boolean' },
  force: { type: 'boolean' },
  'cache-dir': { type: 'string' },
} as const;
