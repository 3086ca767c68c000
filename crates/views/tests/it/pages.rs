//! Pages as data: what HTML and Markdown are drawn from.

use std::collections::BTreeSet;

use flashlag_spec::Reading;
use flashlag_testing::sample;
use flashlag_views::page::{Block, Page, comparison_page, run_page};
use flashlag_views::{CompareOptions, compare};

fn pages() -> Vec<Page> {
    let mut pages: Vec<Page> =
        sample::all().iter().map(|(_, run)| run_page(run, &["run.json".to_owned()])).collect();
    pages.push(run_page(&sample::overloaded(), &[]));
    let runs = [sample::quick(), sample::lifecycle()];
    let options = CompareOptions { force: true, ..CompareOptions::default() };
    pages.push(comparison_page(&compare(&runs, &options).unwrap(), &runs, &[]));
    pages
}

#[test]
fn every_section_has_a_name_and_a_result_of_its_own_and_links_lead_to_sections() {
    for page in pages() {
        let ids: BTreeSet<&str> = page.sections.iter().map(|section| section.id).collect();
        assert_eq!(ids.len(), page.sections.len(), "{}", page.title);
        for section in &page.sections {
            assert!(!section.name.is_empty() && !section.heading.is_empty(), "{}", section.id);
            assert!(!section.heading.ends_with('.'), "{}", section.heading);
        }
        for link in page.ledes.iter().filter_map(|lede| lede.link.as_ref()) {
            assert!(ids.contains(link.section), "{}", link.text);
        }
    }
}

#[test]
fn the_link_to_the_causes_counts_them_as_one_would_say_it() {
    let whole = sample::all().into_iter().map(|(_, run)| run);
    let mut seen = BTreeSet::new();
    for mut run in whole.chain([sample::overloaded()]) {
        flashlag_explain::attach(&mut run);
        while !run.findings.as_ref().unwrap().causes.is_empty() {
            let count = flashlag_views::findings(&run).causes.len();
            let page = run_page(&run, &[]);
            let mut links = page.ledes.iter().filter_map(|lede| lede.link.as_ref());
            if let Some(link) = links.find(|link| link.section == "findings") {
                let expected = match count {
                    1 => "How that was measured.".to_owned(),
                    2 => "Both causes, with what each costs.".to_owned(),
                    _ => format!("All {count} causes, with what each costs."),
                };
                assert_eq!(link.text, expected);
                seen.insert(count);
            }
            run.findings.as_mut().unwrap().causes.pop();
        }
    }
    assert!(seen.is_superset(&[1, 2, 3].into()), "{seen:?}");
}

#[test]
fn a_table_of_a_page_has_rows_with_a_cell_for_each_column_and_no_notes_of_its_own() {
    let mut seen = 0;
    for page in pages() {
        for block in page.sections.iter().flat_map(|section| &section.blocks) {
            let Block::Table(drawn) = block else { continue };
            seen += 1;
            assert!(!drawn.table.is_empty() && drawn.table.notes.is_empty(), "{}", drawn.caption);
            let columns = drawn.table.columns.len();
            assert!(drawn.table.rows().all(|row| row.cells.len() == columns), "{}", drawn.caption);
        }
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn a_test_that_a_side_lacks_is_named_once_and_many_are_counted() {
    let (mut few, whole) = (sample::quick(), sample::quick());
    few.environment.software.machine = Reading::Value("Few".to_owned());
    few.started = None;
    let options = CompareOptions { force: true, ..CompareOptions::default() };
    let note = |few: &flashlag_schema::Run| {
        let runs = [few.clone(), whole.clone()];
        let page = comparison_page(&compare(&runs, &options).unwrap(), &runs, &[]);
        let blocks = page.sections.into_iter().flat_map(|section| section.blocks);
        blocks.into_iter().find_map(|block| match block {
            Block::Note(Some("Not measured."), text) => Some(text),
            _ => None,
        })
    };
    assert_eq!(note(&few), None);
    few.phases.remove(0);
    let one = note(&few).unwrap();
    assert!(one.contains(": 256K seq read."), "{one}");
    few.phases.truncate(0);
    few.phases.push(whole.phases[0].clone());
    let most = format!("{} of {} tests.", whole.phases.len() - 1, whole.phases.len());
    let many = note(&few);
    assert!(
        many.as_ref().is_some_and(|text| text.contains(&most)) || whole.phases.len() <= 7,
        "{many:?}"
    );
}
