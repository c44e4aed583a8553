import Dispatch

/// Checks whether a plugin keeps to the contract of `carillon/plugin.h`: what `carillon plugin check` runs.
///
/// The plugin runs in this process and may take it along. ``ConformanceRunner`` runs the same in another process.
package enum PluginConformance {
    /// Runs all checks and tells each step to `progress`. Nothing is sent over a network.
    ///
    /// The library stays in the process for ever, as do instances that would not end their work.
    package static func check(
        _ plan: ConformancePlan,
        progress: ConformanceProgress = .none
    ) async -> ConformanceReport {
        await withCheckedContinuation { continuation in
            // The checks wait, and a plugin may block: not for the threads that Swift's tasks share.
            DispatchQueue(label: "carillon.conformance").async {
                var run = ConformanceRun(progress)
                run.check(plan)
                continuation.resume(returning: ConformanceReport(path: plan.path, results: run.results))
            }
        }
    }

    /// Runs all checks on the plugin at `path`; `configurations` are JSON objects by platform.
    package static func check(
        path: String,
        configurations: [String: String] = [:]
    ) async -> ConformanceReport {
        await check(ConformancePlan(path: path, configurations: configurations))
    }
}
