import Console
import Testing

@testable import Operations
@testable import PluginHost

/// Operators' view of plugins' processes.
@Suite struct PluginOverviewTests {
    private static let shared = PluginProcessReport(
        plugins: ["libA.so", "libB.so"],
        process: 4711,
        state: .running,
        crashes: 0,
        lastCrash: nil,
        abandoned: 0,
        confinement: "files, system calls"
    )
    private static let dying = PluginProcessReport(
        plugins: ["libC.so"],
        process: nil,
        state: .pausing,
        crashes: 5,
        lastCrash: "libC.so: signal SEGV at libC.so+0x12",
        abandoned: 1,
        confinement: ""
    )

    @Test func pluginsAreListedWithAllDetails() {
        let processes = PluginOverview([Self.shared, Self.dying], refusals: [])
        #expect(
            processes.text == """
                4711 running; confined: files, system calls
                    plugins    libA.so, libB.so
                paused; not confined
                    plugins    libC.so
                    ended      5 times
                    last       libC.so: signal SEGV at libC.so+0x12
                    abandoned  1 delivery, as plugin-crashed
                """
        )
        #expect(
            PluginOverview([Self.dying], refusals: []).json
                == #"{"processes":[{"abandoned":1,"confinement":"","crashes":5,"last_crash":"libC.so: signal SEGV at libC.so+0x12","#
                + #""plugins":["libC.so"],"state":"paused"}],"refused":[]}"#
        )
    }

    @Test func pluginsHaveMetrics() {
        let text = Exposition.text(of: MetricFamily.processes([Self.shared, Self.dying]))
        for line in [
            #"carillon_plugin_process_state{plugin="libA.so",state="running"} 1"#,
            #"carillon_plugin_process_state{plugin="libC.so",state="running"} 0"#,
            #"carillon_plugin_process_state{plugin="libC.so",state="paused"} 1"#,
            #"carillon_plugin_process_crashes_total{plugin="libB.so"} 0"#,
            #"carillon_plugin_process_crashes_total{plugin="libC.so"} 5"#,
            #"carillon_plugin_deliveries_abandoned_total{plugin="libC.so"} 1"#,
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }

    @Test func pausedPluginIsAnIssueButTheRouterIsReady() {
        var readiness = Readiness()
        readiness.outboxLimit = 10
        var restarting = Self.dying
        restarting.state = .restarting
        readiness.pluginProcesses = [Self.shared, restarting]
        #expect(readiness.issues.isEmpty)
        readiness.pluginProcesses = [Self.shared, Self.dying]
        #expect(readiness.issues.map(\.code) == ["plugin-paused"])
        #expect(
            readiness.issues.map(\.message) == [
                "plugin-paused: libC.so crashed 5 times: libC.so: signal SEGV at libC.so+0x12"
            ]
        )
        #expect(readiness.answer(details: true).status == 200)
    }
}
