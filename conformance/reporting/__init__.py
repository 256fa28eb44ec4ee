"""Writes results for people and for programs.

This room runs no search and computes no verdict: it reads checks, replays and results of campaigns. It makes JSON
documents with fixed names (`documents`), tables for a terminal (`tables`, `campaign`), the explanation of one failure
(`story`, `diagram`), the folder that is attached to a ticket (`bug_report`), the conformance report
(`conformance_report`, `report_sections`) and lists of divergences (`divergences`). The same result gives the same text
on every machine, except for the environment section of a bug report.
"""

from conformance.reporting.bug_report import report_folder_name, this_environment, write_bug_report
from conformance.reporting.campaign import campaign_verdicts, so_far_lines, status_lines
from conformance.reporting.catalogues import print_implementations, print_properties
from conformance.reporting.checked import (
    Checked,
    checks_of,
    interruption_document,
    interruption_lines,
    untried_lines,
    verdicts_of_check,
)
from conformance.reporting.conclusion import conclude_campaign, report_violation, status_of_check
from conformance.reporting.conformance_report import (
    Call,
    Tested,
    evidence_of,
    scenario_files,
    scenario_folder,
    write_page,
)
from conformance.reporting.ctrf import ctrf_document, write_ctrf
from conformance.reporting.diagram import sequence_diagram
from conformance.reporting.divergences import (
    divergence_lines,
    divergence_remarks,
    divergence_tables,
    divergences_document,
)
from conformance.reporting.documents import (
    BugRow,
    ImplementationRow,
    bug_row,
    bugs_document,
    check_document,
    implementation_row,
    implementations_document,
    properties_document,
    replay_document,
    scenario_document,
    unguarded_properties,
    unusable_row,
)
from conformance.reporting.earlier_rows import Rows, earlier_bugs, earlier_variants
from conformance.reporting.episodes import again_lines, episode_lines, episode_page, failure_lines
from conformance.reporting.examined import examined_lines, examined_row
from conformance.reporting.exercise import exercise_lines, exercise_remarks, write_exercise
from conformance.reporting.exploration import (
    exploration_document,
    exploration_lines,
    exploration_table,
    print_findings,
)
from conformance.reporting.judged import with_judged, without_judged
from conformance.reporting.kill_matrix import matrix_text
from conformance.reporting.known import standing_remarks
from conformance.reporting.legal_variants import (
    VariantRow,
    variant_row,
    variants_document,
    variants_table,
    variants_text,
)
from conformance.reporting.markdown import Report, story_markdown
from conformance.reporting.page import check_index
from conformance.reporting.progress import progress_bar
from conformance.reporting.promoting import promote, promoted_lines
from conformance.reporting.recorded import recorded_lines, violation_lines
from conformance.reporting.report_sections import report_page
from conformance.reporting.reports_folder import conclude_folder, content_of_check, print_page, print_reports
from conformance.reporting.screen import summaries
from conformance.reporting.showing import print_verdicts
from conformance.reporting.since import Since, since
from conformance.reporting.specification import part_of, parts_of, rules
from conformance.reporting.stored import audit_document, audit_lines, audit_table
from conformance.reporting.story import Mark, Story, StoryStep, story_table, tell
from conformance.reporting.summary import Summed, summary_text, write_summary
from conformance.reporting.tables import (
    implementation_table,
    kill_matrix,
    property_tables,
    verdict_tables,
)
from conformance.reporting.trials import print_bugs, print_variants
from conformance.reporting.unexercised import explanation_lines
from conformance.reporting.verdicts import Remark, Tried, Verdicts, tried_in_check
from conformance.reporting.watching import watch_status
from conformance.system.packaged import chapter_file, specification_folder
from conformance.system.writing import write_json, write_text

__all__ = [
    "BugRow",
    "Call",
    "Checked",
    "ImplementationRow",
    "Mark",
    "Remark",
    "Report",
    "Rows",
    "Since",
    "Story",
    "StoryStep",
    "Summed",
    "Tested",
    "Tried",
    "VariantRow",
    "Verdicts",
    "again_lines",
    "audit_document",
    "audit_lines",
    "audit_table",
    "bug_row",
    "bugs_document",
    "campaign_verdicts",
    "chapter_file",
    "check_document",
    "check_index",
    "checks_of",
    "conclude_campaign",
    "conclude_folder",
    "content_of_check",
    "ctrf_document",
    "divergence_lines",
    "divergence_remarks",
    "divergence_tables",
    "divergences_document",
    "earlier_bugs",
    "earlier_variants",
    "episode_lines",
    "episode_page",
    "evidence_of",
    "examined_lines",
    "examined_row",
    "exercise_lines",
    "exercise_remarks",
    "explanation_lines",
    "exploration_document",
    "exploration_lines",
    "exploration_table",
    "failure_lines",
    "implementation_row",
    "implementation_table",
    "implementations_document",
    "interruption_document",
    "interruption_lines",
    "kill_matrix",
    "matrix_text",
    "part_of",
    "parts_of",
    "print_bugs",
    "print_findings",
    "print_implementations",
    "print_page",
    "print_properties",
    "print_reports",
    "print_variants",
    "print_verdicts",
    "progress_bar",
    "promote",
    "promoted_lines",
    "properties_document",
    "property_tables",
    "recorded_lines",
    "replay_document",
    "report_folder_name",
    "report_page",
    "report_violation",
    "rules",
    "scenario_document",
    "scenario_files",
    "scenario_folder",
    "sequence_diagram",
    "since",
    "so_far_lines",
    "specification_folder",
    "standing_remarks",
    "status_lines",
    "status_of_check",
    "story_markdown",
    "story_table",
    "summaries",
    "summary_text",
    "tell",
    "this_environment",
    "tried_in_check",
    "unguarded_properties",
    "untried_lines",
    "unusable_row",
    "variant_row",
    "variants_document",
    "variants_table",
    "variants_text",
    "verdict_tables",
    "verdicts_of_check",
    "violation_lines",
    "watch_status",
    "with_judged",
    "without_judged",
    "write_bug_report",
    "write_ctrf",
    "write_exercise",
    "write_json",
    "write_page",
    "write_summary",
    "write_text",
]
