import Foundation
import Glibc

/// The process that runs the checks and may be taken along by the plugin: the other end of ``ConformanceRunner``.
package enum ConformanceChild {
    /// Reads a plan, in JSON, from standard input, runs its checks, tells each step as a line of JSON on standard output,
    /// and ends the process: 0 when the plugin passed, 1 when it did not, 2 when there was no plan.
    ///
    /// What the plugin prints goes to standard error.
    package static func run() async -> Never {
        guard
            let text = try? FileHandle.standardInput.readToEnd(),
            let plan = try? JSONDecoder().decode(ConformancePlan.self, from: text)
        else { leave(2) }
        let output = dup(STDOUT_FILENO)
        dup2(STDERR_FILENO, STDOUT_FILENO)
        let report = await PluginConformance.check(plan, progress: .lines(to: output))
        leave(report.isPassed ? 0 : 1)
    }

    /// Without the library's exit handlers: all has been said.
    private static func leave(_ status: Int32) -> Never { _exit(status) }
}
