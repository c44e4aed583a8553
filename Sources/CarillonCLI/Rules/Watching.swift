import ArgumentParser
import CarillonRouter
import Foundation
import Operations

/// Does something once, or again and again: as often as one of the files changes that it reads.
struct Watching {
    let isOn: Bool

    /// `files` are those that `body` will read; they are asked for anew before each run. A run that fails with an exit
    /// code, having said why, does not end the watching.
    func run(files: () -> [String], _ body: () async throws -> Void) async throws {
        guard isOn else { return try await body() }
        while true {
            let names = files()
            var watch = FileWatch(names)
            do {
                try await body()
            } catch is ExitCode {}
            print("\n(watching \(names.joined(separator: ", ")); ^C ends)")
            fflush(nil)
            let changed = try await watch.next()
            print(
                "\n" + String(repeating: "═", count: 80)
                    + "\n\(Self.time): \(changed.joined(separator: ", ")) changed\n"
            )
            // Diagnostics go to another stream and must come behind it.
            fflush(nil)
        }
    }

    /// The time of day.
    private static var time: String {
        Date.now.formatted(
            Date.VerbatimFormatStyle(
                format:
                    "\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits)",
                timeZone: .current,
                calendar: .current
            )
        )
    }
}
