/** Rules of roles, in one line each. */

/** Verbs, resources and API groups are separated by commas; by default the group is the core group. */
export function rule(verbs: string, resources: string, groups = '') {
  return { verbs: verbs.split(','), apiGroups: groups.split(','), resources: resources.split(',') };
}
