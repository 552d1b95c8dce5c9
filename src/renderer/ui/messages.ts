import type { Component } from 'vue';

export interface MenuItem {
  id: string;
  label: string;
  icon?: Component;
  danger?: boolean;
}

export interface ToastMessage {
  id: number;
  tone: 'ok' | 'danger';
  title: string;
  text?: string;
  items?: readonly string[];
  action?: { label: string; run: () => void };
  /** Milliseconds until it leaves by itself; hover and focus pause that. */
  duration: number;
}
