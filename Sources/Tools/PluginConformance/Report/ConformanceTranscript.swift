import Core
import Foundation
import Glibc

/// Builds a report from the lines that a process wrote while it ran checks. Pure.
package struct ConformanceTranscript: Sendable {
    private var results: [CheckResult] = []
    private var running: (check: ConformanceCheck, platform: String?)?
    private var detail = ""
    /// The last line has come, so the end of the process no longer matters.
    package private(set) var hasEnded = false

    package init() {}

    /// Takes one line without its line break. Other lines are ignored.
    package mutating func read(_ line: some Collection<UInt8>) {
        guard let line = try? JSONDecoder().decode(ProgressLine.self, from: Data(line)) else { return }
        switch line {
        case .started(let check, let platform), .repeated(let check, let platform):
            running = (check, platform)
            detail = ""
        case .at(let what): detail = what
        case .finished(let result):
            results.append(result)
            running = nil
        case .ended: hasEnded = true
        }
    }

    /// The check that started but did not end.
    var interrupted: (check: ConformanceCheck, platform: String?)? { hasEnded ? nil : running }

    /// The report, given how the process ended. The last check failed unless it ended.
    package func report(path: String, ending: ConformanceReport.Ending) -> ConformanceReport {
        guard !hasEnded else { return ConformanceReport(path: path, results: results) }
        var report = ConformanceReport(path: path, results: results, ending: ending)
        if case .complete = ending { report.ending = .exited(status: 0) }
        if let running {
            let place = detail.isEmpty ? "" : ", at: \(detail)"
            report.results.append(
                CheckResult(running.check, platform: running.platform, .failed, Self.text(report.ending) + place)
            )
        }
        return report
    }

    private static func text(_ ending: ConformanceReport.Ending) -> String {
        switch ending {
        case .complete: ""
        case .crashed(let signal):
            "it crashed with \(name(signal)); run the check in a debugger or build with sanitizers"
        case .exited(let status): "the process exited with status \(status); a plugin must not end its process"
        case .hung(let span):
            """
            nothing happened for \(span.milliseconds) ms; every function of a plugin must return promptly and never \
            block
            """
        }
    }

    private static func name(_ signal: Int32) -> String {
        let names: [Int32: String] = [
            4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
        ]
        return names[signal].map { "\($0) (signal \(signal))" } ?? "signal \(signal)"
    }
}

/// One line of JSON from the process that runs checks to its parent.
enum ProgressLine: Sendable, Hashable, Codable {
    case started(check: ConformanceCheck, platform: String?)
    /// A check runs again in a new process; its result is known.
    case repeated(check: ConformanceCheck, platform: String?)
    /// The current action within the check, in case the plugin crashes in it.
    case at(what: String)
    case finished(result: CheckResult)
    /// No more lines follow.
    case ended
}

/// Reports the progress of checks, so that the last line shows where a plugin crashed.
package struct ConformanceProgress: Sendable {
    private let file: Int32?

    private init(file: Int32?) {
        self.file = file
    }

    /// Reports nothing.
    package static let none = ConformanceProgress(file: nil)

    /// Writes one line of JSON for each step to `descriptor`, unbuffered; the caller owns it.
    package static func lines(to descriptor: Int32) -> ConformanceProgress { ConformanceProgress(file: descriptor) }

    func report(_ line: ProgressLine) {
        guard let file, var bytes = try? JSONEncoder().encode(line) else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }
}
