import Foundation
import PluginIsolation
import Testing
import Units

/// Where the plugins of a test run.
enum Place: Sendable {
    case router
    case processes

    /// That of the running test.
    @TaskLocal static var current = Place.router

    /// The program that loads plugins, beside the tests.
    static let program: String? = {
        let here = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { [$0] } ?? []
        let folders = (here + CommandLine.arguments).map { URL(filePath: $0).deletingLastPathComponent() }
        return folders.map { $0.appending(path: "carillon-plugin-host").path }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// Nil: all in this process.
    var isolation: IsolationSettings? {
        switch self {
        case .router: nil
        case .processes: .forTests
        }
    }
}

extension IsolationSettings {
    /// Patient with a busy machine, and without pauses after a death.
    static var forTests: IsolationSettings {
        var settings = IsolationSettings(program: Place.program ?? "carillon-plugin-host is not beside the tests")
        settings.pause = .zero
        settings.deadline = .seconds(30)
        settings.questionDeadline = .seconds(30)
        // A plugin that starts a thread for each delivery has hundreds at once here, each with a stack of 1 MiB.
        settings.memory = .mebibytes(1024)
        return settings
    }
}

/// Runs each test twice: with plugins in the router, and with each in a process of its own.
struct BothPlaces: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        for place in [Place.router, .processes] {
            try await Place.$current.withValue(place) { try await function() }
        }
    }
}

extension Trait where Self == BothPlaces {
    static var bothPlaces: BothPlaces { BothPlaces() }
}

/// Waits until `condition` holds, up to 20 s; returns whether it does.
func eventually(_ condition: @Sendable () -> Bool) async -> Bool {
    for _ in 0..<4_000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return condition()
}
