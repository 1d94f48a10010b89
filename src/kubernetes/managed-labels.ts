/**
 * The labels by which Stonegate recognizes the objects that it has created. Provisioning, policies and
 * publishing write them; docs/admission.md says who may not.
 */

export const MANAGED_BY = 'stonegate.dev/managed-by';
/** The value of `MANAGED_BY`. */
export const STONEGATE = 'stonegate';
/** Labels the objects of a Keystone project with the project's id, or a digest of it. */
export const PROJECT_ID = 'stonegate.dev/project-id';
/** Labels the objects of a Keystone domain with the domain's id, or a digest of it. */
export const DOMAIN_ID = 'stonegate.dev/domain-id';

/** Whether the object has the label of what Stonegate has made. */
export function hasManagedLabel(metadata: { readonly labels?: Readonly<Record<string, string>> }): boolean {
  return metadata.labels?.[MANAGED_BY] === STONEGATE;
}
