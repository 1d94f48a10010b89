/**
 * The options of `stonegate login` beside those of either way to log in, for `parseArgs`: here since `stonegate kubeconfig`
 * reads them too.
 */

export const loginFlags = {
  keystone: { type: 'boolean' },
  oidc: { type: 'boolean' },
  force: { type: 'boolean' },
  'cache-dir': { type: 'string' },
} as const;
