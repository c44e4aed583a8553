import Core
import Dispatch
import PluginHost

/// Checks whether a plugin follows the contract of `carillon/plugin.h`: the implementation of `carillon plugin check`.
///
/// The plugin runs in this process and may crash it. ``ConformanceRunner`` runs the same in another process.
package enum PluginConformance {
    /// Runs all checks and reports each step to `progress`. No check uses a network.
    ///
    /// The library stays in the process until it ends, as do instances that did not complete their work.
    package static func check(
        _ plan: ConformancePlan,
        progress: ConformanceProgress = .none
    ) async -> ConformanceReport {
        await withCheckedContinuation { continuation in
            // Checks wait and plugins may block, so they must not use the shared threads of Swift's tasks.
            DispatchQueue(label: "carillon.conformance").async {
                var run = ConformanceRun(progress)
                run.check(plan)
                continuation.resume(returning: ConformanceReport(path: plan.path, results: run.results))
            }
        }
    }

    /// Runs all checks on the plugin at `path`; `configurations` are JSON objects by platform.
    package static func check(path: String, configurations: [String: String] = [:]) async -> ConformanceReport {
        await check(ConformancePlan(path: path, configurations: configurations))
    }
}

/// The input of a conformance test.
package struct ConformancePlan: Sendable, Hashable, Codable {
    /// A registration that a platform accepts, for plugins that accept none of the usual ones.
    package struct Registration: Sendable, Hashable, Codable {
        package var token: String
        package var fields: [String: String]

        package init(token: String, fields: [String: String] = [:]) {
            self.token = token
            self.fields = fields
        }
    }

    /// The shared object, or the plugin in Python.
    package var path: String
    /// The programs that run a Python plugin.
    package var python = PythonPrograms()
    /// By platform the block of one app as JSON, by filter its settings. Default: `{}`.
    package var configurations: [String: String]
    /// By platform.
    package var registrations: [String: Registration]
    /// The timeout of a delivery whose response is available immediately.
    package var timeout: Duration
    /// The checks of a process that the plugin crashed. They are not repeated.
    package var earlier: [EarlierCheck] = []

    package init(
        path: String,
        configurations: [String: String] = [:],
        registrations: [String: Registration] = [:],
        timeout: Duration = .seconds(5)
    ) {
        self.path = path
        self.configurations = configurations
        self.registrations = registrations
        self.timeout = timeout
    }
}

/// A check that another process ran.
package struct EarlierCheck: Sendable, Hashable, Codable {
    package let result: CheckResult
    /// The last check: the plugin crashed, exited or hung in it.
    package let endedProcess: Bool

    package init(_ result: CheckResult, endedProcess: Bool) {
        self.result = result
        self.endedProcess = endedProcess
    }

    var isFailed: Bool { result.decision == .failed }
}

/// Runs the checks one after the other and collects their results.
struct ConformanceRun {
    private let progress: ConformanceProgress
    private(set) var results: [CheckResult] = []
    private var earlier: [EarlierCheck] = []
    private var library: CheckedLibrary?

    init(_ progress: ConformanceProgress) {
        self.progress = progress
    }

    mutating func check(_ plan: ConformancePlan) {
        earlier = plan.earlier
        var loaded: (library: CheckedLibrary, descriptor: PluginDescriptor)?
        perform(.load) { () throws(CheckStop) in
            loaded = try LibraryChecks.load(plan)
            return ""
        }
        if let (library, descriptor) = loaded {
            self.library = library
            perform(.descriptor) { () throws(CheckStop) in
                try LibraryChecks.descriptor(of: library, descriptor)
            }
            for (index, entry) in descriptor.transports.enumerated() {
                let bench = TransportBench(library.transport(entry, at: index), of: library, plan, progress)
                bench.broken = Set(
                    earlier.filter { $0.result.platform == entry.platform && $0.isFailed }.map(\.result.check)
                )
                for (check, body) in TransportChecks.all {
                    perform(check, of: entry.platform) { () throws(CheckStop) in try body(bench) }
                }
            }
            for (index, entry) in descriptor.filters.enumerated() {
                let bench = FilterBench(library.filter(entry, at: index), of: library, plan, progress)
                let name = "filter \(entry.name)"
                bench.isFlawed = earlier.contains { $0.result.isOf(.decision, name) && $0.isFailed }
                for (check, body) in FilterChecks.all {
                    perform(check, of: name) { () throws(CheckStop) in try body(bench) }
                }
            }
        }
        progress.report(.ended)
    }

    private mutating func perform(
        _ check: ConformanceCheck,
        of platform: String? = nil,
        _ body: () throws(CheckStop) -> String
    ) {
        if let earlier = earlier.first(where: { $0.result.isOf(check, platform) }) {
            guard check.preparesOthers, !earlier.endedProcess else { return }
            // Runs again only for later checks; its result was already reported.
            progress.report(.repeated(check: check, platform: platform))
            _ = try? body()
            return
        }
        progress.report(.started(check: check, platform: platform))
        let result: CheckResult
        do throws(CheckStop) {
            result = CheckResult(check, platform: platform, .passed, try surviving(body))
        } catch {
            switch error {
            case .failed(let reason): result = CheckResult(check, platform: platform, .failed, reason)
            case .skipped(let reason): result = CheckResult(check, platform: platform, .skipped, reason)
            }
        }
        results.append(result)
        progress.report(.finished(result: result))
    }

    /// Runs a check. It fails if the plugin's own process died during it, or if a function of the plugin raised an
    /// unexpected exception.
    private func surviving(_ body: () throws(CheckStop) -> String) throws(CheckStop) -> String {
        let before = library?.crashes.count
        let said = Result { () throws(CheckStop) in try body() }
        if let crashes = library?.crashes, crashes.count != before {
            throw .failed("its process ended: \(crashes.last ?? "no reason known")")
        }
        guard let traceback = library?.takeTraceback() else { return try said.get() }
        guard case .failure(.failed(let reason)) = said else {
            throw .failed("an exception: raise Invalid, Unsupported or Busy for input that it refuses\n\(traceback)")
        }
        throw .failed("\(reason)\n\(traceback)")
    }
}

/// Why a check did not pass.
enum CheckStop: Error {
    /// The plugin's behaviour, and the expected one.
    case failed(String)
    case skipped(String)

    /// The behaviour to check did not occur, which another check reports.
    static let unended = CheckStop.skipped("a delivery did not end, which another check reports")
}
