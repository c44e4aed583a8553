/// Runs the checks one after the other and keeps what they come to.
struct ConformanceRun {
    private let progress: ConformanceProgress
    private(set) var results: [CheckResult] = []

    init(_ progress: ConformanceProgress) {
        self.progress = progress
    }

    mutating func check(_ plan: ConformancePlan) {
        var loaded: (library: PluginLibrary, descriptor: PluginDescriptor)?
        perform(.load) { () throws(CheckStop) in
            loaded = try LibraryChecks.load(plan.path)
            return ""
        }
        if let (library, descriptor) = loaded {
            perform(.descriptor) { () throws(CheckStop) in
                try LibraryChecks.descriptor(of: library, descriptor)
            }
            for functions in descriptor.transports {
                let bench = TransportBench(functions, of: library, plan, progress)
                for (check, body) in TransportChecks.all {
                    perform(check, of: functions.platform) { () throws(CheckStop) in try body(bench) }
                }
            }
            for functions in descriptor.filters {
                let bench = FilterBench(functions, of: library, plan, progress)
                for (check, body) in FilterChecks.all {
                    perform(check, of: "filter \(functions.name)") { () throws(CheckStop) in try body(bench) }
                }
            }
        }
        progress.tell(.ended)
    }

    private mutating func perform(
        _ check: ConformanceCheck,
        of platform: String? = nil,
        _ body: () throws(CheckStop) -> String
    ) {
        progress.tell(.started(check: check, platform: platform))
        let result: CheckResult
        do throws(CheckStop) {
            result = CheckResult(check, platform: platform, .passed, try body())
        } catch {
            switch error {
            case .failed(let reason): result = CheckResult(check, platform: platform, .failed, reason)
            case .skipped(let reason): result = CheckResult(check, platform: platform, .skipped, reason)
            }
        }
        results.append(result)
        progress.tell(.finished(result: result))
    }
}
