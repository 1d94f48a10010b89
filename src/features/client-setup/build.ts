/**
 * Serves the document to everyone.
 */
import type { Feature } from '../../proxy/feature.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';
import type { FeatureBuild } from '../build.ts';
import { CLIENT_SETUP_PATH } from './client-setup-v1alpha1.ts';
import type { ClientSetupParts } from './feature.ts';

export function createClientSetup({
  parts: { setup },
}: Pick<FeatureBuild<ClientSetupParts>, 'parts'>): Feature {
  return { publicDocuments: new Map([[CLIENT_SETUP_PATH, jsonResponse(200, setup)]]) };
}
