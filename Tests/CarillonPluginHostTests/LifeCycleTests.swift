import CarillonABI
import CommandTestSupport
import Glibc
import PluginProtocol
import Testing

/// How the process starts and ends, and what it reports about libraries.
@Suite struct LifeCycleTests {
    @Test func threadsAreNamed() throws {
        let child = try Child()
        #expect(child.hello.deliveries == UInt32(child.process))
        #expect(child.hello.questions != child.hello.deliveries)
    }

    @Test func libraryContentsAreReported() throws {
        let child = try Child()
        let descriptor = try child.load(Guest.library())
        #expect(descriptor.id == "example.guest")
        #expect(descriptor.version == "not tried")
        #expect(descriptor.transports.map(\.platform) == ["guest", "old"])
        #expect(
            descriptor.transports.map(\.functions) == [
                [.create, .destroy, .validate, .deliver, .cancel, .command, .check], [.create, .destroy, .deliver],
            ]
        )
        #expect(descriptor.filters.map(\.name) == ["guest"])
        #expect(descriptor.filters.map(\.kinds) == [[3, 10_000]])
        #expect(descriptor.filters.map(\.functions) == [[.create, .destroy, .decide, .needs]])
        let module = try #require(descriptor.modules.first { $0.name == (try? Guest.library()) })
        #expect(module.size > 0 && module.start > 0)
        #expect(descriptor.modules.contains { $0.name == "carillon-plugin-host" })
    }

    @Test func itLoadsSeveralLibraries() throws {
        let child = try Child()
        let libraries = try [Guest.library(), Guest.library("HOSTILE")]
        let first = try child.load(libraries[0], among: libraries, isLast: false)
        let second = try child.load(libraries[1], among: libraries)
        #expect(first.version != second.version)
        #expect(try child.create(1, library: 1, table: .filter) == Child.Answer(status: .CARILLON_OK, number: 4))
    }

    @Test func loadFailureIsReportedWithItsReason() throws {
        let missing = try Child().refusal(of: "/nowhere.so")
        #expect(missing.reason == .linker && missing.text.contains("/nowhere.so"))
        #expect(try Child().refusal(of: "/lib/x86_64-linux-gnu/libm.so.6").reason == .noEntry)
        #expect(try Child().refusal(of: Guest.library("REFUSES")).reason == .refusedItself)
        let malformed = try Child().refusal(of: Guest.library("MALFORMED"))
        #expect(malformed.reason == .malformedDescriptor)
        #expect(malformed.text == "filters is NULL, but their count is 1")
        let other = try Child().refusal(of: Guest.library("carillon_plugin_entry_v1=carillon_plugin_entry_v3"))
        #expect(other.reason == .otherMajor && other.number == 3)
    }

    @Test func anEntryMayEndTheProcess() throws {
        let child = try Child()
        #expect(throws: Child.Ended.self) { try child.load(Guest.library("EXITS")) }
        #expect(child.end() == (0, 0))
        #expect(child.crashReports().isEmpty)
    }

    @Test(arguments: [true, false])
    func processExitsWhenEitherSocketCloses(_ isOfDeliveries: Bool) throws {
        let child = try Child.guest()
        if isOfDeliveries { child.closeDeliveries() } else { child.closeQuestions() }
        #expect(child.end() == (0, 0))
        #expect(child.errorText() == "")
    }

    @Test func processExitsEvenIfAPluginHangs() throws {
        let child = try Child.guest()
        child.deliver(1, "hang")
        child.closeQuestions()
        #expect(child.end() == (0, 0))
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT])
    func groupSignalsDoNotEndTheProcess(_ number: Int32) throws {
        let child = try Child.guest()
        kill(child.process, number)
        child.deliver(1, "complete")
        #expect(try child.completed() == (1, "complete"))
    }

    @Test func unexpectedFramesEndTheProcess() throws {
        let child = try Child.guest()
        child.sendNoise([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        #expect(child.end() == (0, 1))
        #expect(child.errorText().hasPrefix("carillon-plugin-host: the router: it sent a frame hello"))
    }

    @Test func manualStartPrintsItsPurpose() throws {
        let program = try Guest.built("carillon-plugin-host")
        let nothing = try CommandRun(program, [])
        #expect(nothing.status == 2)
        #expect(nothing.output.contains("the router starts this program"))
        let version = try CommandRun(program, ["--version"])
        #expect(version.status == 0)
        #expect(version.output == "protocol 1, plugin ABI 1.0\n")
        #expect(try CommandRun(program, ["--help"]).output.contains("usage: carillon-plugin-host"))
        #expect(try CommandRun(program, ["--other"]).status == 2)
    }
}
