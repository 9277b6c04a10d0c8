//! Broken lists and removals.

use std::time::Duration;

use idempotent_runtime::admin::{
    Admin, Change, Changed, Concern, Inspected, Leases, Listed, Page, Query, Seen, Standing, State, Summary, Swept,
};
use idempotent_runtime::store::{Reply, Retention, StoreError};
use idempotent_runtime::{Key, Token};

use super::Broken;
use crate::fault::Fault;

impl Admin for Broken {
    fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>> {
        Box::pin(self.answer_inspect(key))
    }

    fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed> {
        Box::pin(self.answer_change(key, seen, change))
    }

    fn list<'a>(&'a self, query: &'a Query) -> Reply<'a, Page> {
        Box::pin(self.answer_list(query))
    }

    fn remove<'a>(&'a self, key: &'a Key, seen: Seen, leases: Leases) -> Reply<'a, Changed> {
        Box::pin(self.answer_remove(key, seen, leases))
    }

    fn sweep(&self, batch: u32) -> Reply<'_, Swept> {
        Box::pin(async move {
            if self.fault == Fault::SweepRemovesTheLapsed {
                self.remove_all(&Query::new().standing(Standing::Abandoned)).await?;
            }
            self.memory.sweep(batch).await
        })
    }

    fn check(&self) -> Reply<'_, Vec<Concern>> {
        self.memory.check()
    }
}

impl Broken {
    async fn answer_list(&self, query: &Query) -> Result<Page, StoreError> {
        let beginning = query.key_beginning().to_owned();
        let asked = query.cursor().into_iter().fold(query.clone(), |query, cursor| query.after(cursor.clone()));
        let without_conditions = || {
            let plain = Query::new().page(query.page_size());
            query.cursor().into_iter().fold(plain, |query, cursor| query.after(cursor.clone()))
        };
        let mut page = match self.fault {
            Fault::ListShowsNothing => return Ok(Page::default()),
            Fault::ListIgnoresConditions => self.memory.list(&without_conditions().beginning(&beginning)).await?,
            Fault::ListReadsPatterns => {
                let mut page = self.memory.list(&without_conditions()).await?;
                page.records.retain(|listed| matches(beginning.as_bytes(), listed.key.as_str().as_bytes()));
                page
            }
            Fault::ListCutsWords => {
                self.memory.list(&without_conditions().beginning(beginning.trim_end_matches(':'))).await?
            }
            Fault::ListTakesAnyPlace => match self.memory.list(&asked).await {
                Err(_) => Page::default(),
                answered => answered?,
            },
            _ => self.memory.list(&asked).await?,
        };
        page.records.iter_mut().for_each(|listed| self.spoil_listed(listed));
        if self.fault == Fault::ListHidesTheUnreadable {
            page.records.retain(|listed| listed.record.is_ok());
        }
        if self.fault == Fault::ListEndsWithItsFirstPage {
            page.next = None;
        }
        if self.fault == Fault::ListShowsWhatIsGone && page.next.is_none() {
            let claimed: Vec<Key> = self.seen().holder.keys().cloned().collect();
            page.records.extend(claimed.into_iter().filter(|key| key.as_str().starts_with(&beginning)).map(ghost));
        }
        Ok(page)
    }

    fn spoil_listed(&self, listed: &mut Listed) {
        if self.is_spoiled(&listed.key) {
            listed.record = Err("spoiled".into());
        }
        let Ok(record) = &mut listed.record else { return };
        match (self.fault, &mut record.state) {
            (Fault::ListShowsLiveAsLapsed, State::InProgress { remaining, .. }) => *remaining = Duration::ZERO,
            (Fault::ListShortensErrors, State::Failed { last_error }) => *last_error = "?".into(),
            _ => {}
        }
    }

    async fn answer_remove(&self, key: &Key, mut seen: Seen, mut leases: Leases) -> Result<Changed, StoreError> {
        let at = self.at(key);
        match self.fault {
            Fault::RemoveDoesNothing => return Ok(Changed::Done),
            Fault::RemoveIsRefused => return Ok(Changed::Moved),
            Fault::RemoveTakesTheLiving => leases = Leases::Broken,
            Fault::RemoveNeverTakesTheLiving => leases = Leases::Respected,
            Fault::RemoveTakesWhatever => {
                let Some(found) = self.memory.inspect(&at).await? else { return Ok(Changed::Done) };
                (seen, leases) = (found.seen(), Leases::Broken);
            }
            Fault::RemoveTakesAll => {
                let changed = self.memory.remove(&at, seen, leases).await?;
                if changed == Changed::Done {
                    self.remove_all(&Query::new().beginning(at.as_str())).await?;
                    self.remove_all(&Query::new().beginning(at.entity())).await?;
                }
                return Ok(changed);
            }
            Fault::RemoveWakesNobody => {
                let found = self.memory.inspect(&at).await?.filter(|found| found.seen() == seen);
                let may = found.is_some_and(|found| leases == Leases::Broken || !found.is_live());
                if may {
                    self.delete(key);
                }
                return Ok(if may { Changed::Done } else { Changed::Moved });
            }
            _ => {}
        }
        self.memory.remove(&at, seen, leases).await
    }

    async fn remove_all(&self, query: &Query) -> Result<(), StoreError> {
        for listed in self.memory.list(&query.clone().page(1000)).await?.records {
            if let Ok(record) = listed.record {
                self.memory.remove(&listed.key, record.seen(), Leases::Broken).await?;
            }
        }
        Ok(())
    }
}

/// A record that is not there.
fn ghost(key: Key) -> Listed {
    let record = Summary {
        token: Token::random(),
        attempt: 1,
        owner: "".into(),
        fingerprint: None,
        state: State::Completed(()),
        expires_in: Retention::Forever,
    };
    Listed { key, record: Ok(record) }
}

/// Whether a text begins as a pattern says.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], _) => true,
        ([b'*', rest @ ..], _) => (0..=text.len()).any(|at| matches(rest, &text[at..])),
        ([b'?', rest @ ..], [_, text @ ..]) => matches(rest, text),
        ([char, rest @ ..], [first, text @ ..]) => char == first && matches(rest, text),
        _ => false,
    }
}
