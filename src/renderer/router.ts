/** Where one can be. The address holds what a view shows, so that back, forward, reload and a shared link work. */
import { createRouter, createWebHashHistory, type Router, type RouteRecordRaw } from 'vue-router';
import LibraryView from './views/library/LibraryView.vue';

const evidenceRoute: RouteRecordRaw = {
  path: '/evidence',
  name: 'evidence',
  component: () => import('./views/evidence/EvidenceView.vue'),
  meta: { title: 'Evidence' },
};

export function makeRouter(): Router {
  return createRouter({
    history: createWebHashHistory(),
    routes: [
      { path: '/', name: 'library', component: LibraryView, meta: { title: 'Library' } },
      // charts and forms arrive with the first view that needs them
      {
        path: '/new',
        name: 'new',
        component: () => import('./views/wizard/WizardView.vue'),
        meta: { title: 'New scenario' },
      },
      evidenceRoute,
      {
        path: '/scenario/:id',
        component: () => import('./views/shell/ScenarioShell.vue'),
        props: true,
        children: [
          { path: '', redirect: (to) => ({ name: 'plans', params: to.params }) },
          {
            path: 'setup',
            name: 'setup',
            component: () => import('./views/wizard/WizardView.vue'),
            props: true,
            meta: { title: 'Setup' },
          },
          {
            path: 'plans',
            name: 'plans',
            component: () => import('./views/plans/PlansView.vue'),
            props: true,
            meta: { title: 'Plans' },
          },
          {
            path: 'plan',
            name: 'plan',
            component: () => import('./views/plan/PlanView.vue'),
            props: true,
            meta: { title: 'Plan' },
          },
        ],
      },
      {
        path: '/:rest(.*)*',
        name: 'lost',
        component: () => import('./views/shell/LostView.vue'),
        meta: { title: 'Not found' },
      },
    ],
  });
}
