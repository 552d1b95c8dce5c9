import './ui/tokens.css';
import './ui/base.css';
import './ui/controls.css';
import { createPinia } from 'pinia';
import { createApp } from 'vue';
import App from './App.vue';
import { createClient, httpTransport, provideClient } from './client.ts';
import { makeRouter } from './router.ts';
import { useActivity } from './stores/activity.ts';
import { useNotices } from './stores/notices.ts';
import { activityKey } from './ui/activity.ts';

provideClient(createClient(window.trainyard ?? httpTransport()));

const app = createApp(App);
app.use(createPinia());
const notices = useNotices();
const activity = useActivity();
app.provide(activityKey, activity.begin);

// a bug must not blank the page: say it, log it, go on
app.config.errorHandler = (error) => {
  reportError(error);
  notices.fail('Something went wrong on this page', error);
};
window.addEventListener('unhandledrejection', (event) => {
  notices.fail('Something went wrong on this page', event.reason);
});

const router = makeRouter();
let arrived = activity.begin();
router.beforeEach(() => {
  arrived();
  arrived = activity.begin();
});
router.afterEach((to, from) => {
  arrived();
  document.title = typeof to.meta['title'] === 'string' ? `${to.meta['title']} – Trainyard` : 'Trainyard';
  if (to.path === from.path) return;
  window.scrollTo(0, 0);
  // a new screen begins at its beginning for the keyboard and for screen readers too; not at the very first one
  if (from.matched.length > 0) document.getElementById('main')?.focus({ preventScroll: true });
});
router.onError((error) => {
  arrived();
  notices.fail('This screen could not be opened', error);
});
app.use(router);
app.mount('#app');
