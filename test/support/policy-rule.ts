/** Rules of roles, in one line each. */

/**
 * @param verbs separated by commas, as the resources and the groups are: `get,list`
 * @param groups by default the core group
 */
export function rule(verbs: string, resources: string, groups = '') {
  return { verbs: verbs.split(','), apiGroups: groups.split(','), resources: resources.split(',') };
}
