/**
 * Tags of cached entries, by which an operator or a revocation of Keystone drops them. Each kind has a prefix
 * of its own.
 */

/** Tags entries of a user, by id and by the name that the API server knows. */
export const userTag = (user: string): string => `user:${user}`;
export const tenantTag = (tenant: string): string => `tenant:${tenant}`;
/** Tags the entries of a token, by its first audit id. */
export const auditTag = (auditID: string): string => `audit:${auditID}`;
/** Tags tokens that were made from one another, by their last audit id. */
export const auditChainTag = (auditID: string): string => `audit-chain:${auditID}`;
export const trustTag = (trustID: string): string => `trust:${trustID}`;
export const projectTag = (projectID: string): string => `project:${projectID}`;
/** Tags what concerns too many projects to name each. */
export const ANY_PROJECT_TAG = 'projects';
export const domainTag = (domainID: string): string => `domain:${domainID}`;
/** Everything that Keystone said about users: if it is dropped, Keystone is asked again about all users. */
export const EVERYTHING_TAG = 'keystone';
/** The disabled projects and domains. They are fetched in one list, so that each drop drops the list too. */
export const SWITCHED_OFF_TAG = 'switched-off';
/** Marks an event as carried out, so that no other replica does it again. */
export const eventTag = (digest: string): string => `event:${digest}`;
/** No entry has it: it ends long-running requests of the user, whether or not their credential is valid. */
export const endStreamsOfUserTag = (user: string): string => `end-streams:user:${user}`;
export const endStreamsOfTenantTag = (tenant: string): string => `end-streams:tenant:${tenant}`;
/** What was fetched for one owner that may have changed, such as a tenant's discovery. */
export const documentsTag = (owner: string): string => `documents:${owner}`;
/** Tags the documents of all owners. */
export const ALL_DOCUMENTS_TAG = 'documents';
export const isDocumentsTag = (tag: string): boolean =>
  tag === ALL_DOCUMENTS_TAG || tag.startsWith(documentsTag(''));
