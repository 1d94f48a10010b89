/**
 * The forms that one feature has on the pages of others, each about a namespace or a team. Such a page does
 * not know the feature.
 */
import type { Content, Html } from '../lib/html.ts';
import type { Done, Forms, PageContent, PortalPage, Visit } from '../proxy/portal-page.ts';
import type { Rows } from './page-rows.ts';

/** One of both. */
interface Target {
  readonly namespace?: string;
  readonly team?: string;
}

export interface AddedForms {
  /** The links and forms of the page contain them. */
  readonly actions: NonNullable<PortalPage['actions']>;
  /** Renders the secret of a form that was done. */
  readonly secret: NonNullable<PageContent['secret']>;
  /** @returns undefined if the form is of the page */
  act(
    entered: URLSearchParams,
    target: Target & { readonly role?: string },
    visit: Visit,
  ): Promise<Done | undefined>;
  /** @returns renders the forms, with the rows that there are of what they concern */
  load(visit: Visit): Promise<ShowForms>;
}

/** Makes the page when its forms are there. */
export type PageWithForms = (added: AddedForms) => PortalPage;

/** @param asked fields in which the user chooses what else the form needs */
export type ShowForms = (target: Target, page: Forms, rows: Rows, asked?: Content) => Html;
