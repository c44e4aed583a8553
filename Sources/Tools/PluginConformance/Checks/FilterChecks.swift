import CarillonABI
import Dispatch
import PluginHost

/// All checks of a filter, in order. A check returns a remark, or an empty string.
enum FilterChecks {
    typealias Body = @Sendable (FilterBench) throws(CheckStop) -> String

    private static let threadCount = 4
    private static let decisionsOfAThread = 250

    static let all: [(check: ConformanceCheck, body: Body)] = [
        (.createEmpty, { bench throws(CheckStop) in try CreationChecks.createEmpty(bench) }),
        (.createConfigured, { bench throws(CheckStop) in try CreationChecks.createConfigured(bench) }),
        (.createHostile, { bench throws(CheckStop) in try CreationChecks.createHostile(bench) }),
        (.errorText, { bench throws(CheckStop) in try CreationChecks.errorText(bench) }),
        (.decide, decide),
        (.decision, decision),
        (.needs, needs),
        (.services, ServiceChecks.filter),
        (.secrets, secrets),
        (.hostileText, hostileText),
        (.borrowedMemory, borrowedMemory),
        (.newerHost, newerHost),
        (.threads, threads),
        (.shutdown, shutdown),
    ]

    private static func decide(_ bench: FilterBench) throws(CheckStop) -> String {
        guard bench.configuration != nil else {
            throw .failed(
                "it decided nothing, because no settings are known that it accepts: give some with --block "
                    + "\(bench.functions.name)=FILE"
            )
        }
        try bench.onNewInstance { filter throws(CheckStop) in
            for (what, inquiry) in regular(bench) {
                bench.at(what)
                let decision = filter.decide(inquiry)
                bench.decisions.append((what, decision))
                guard decision.status == .CARILLON_OK else {
                    throw .failed("it could not decide about \(what): decide returned \(decision.status.rawValue)")
                }
            }
        }
        let drops = bench.decisions.count { $0.decision.decision == carillon_verdict.CARILLON_DROP.rawValue }
        return "it drops \(drops) of \(bench.decisions.count)"
    }

    private static func decision(_ bench: FilterBench) throws(CheckStop) -> String {
        guard !bench.decisions.isEmpty else { throw .skipped("it decided nothing") }
        for (what, decision) in bench.decisions {
            guard let flaw = decision.flaw else { continue }
            bench.isFlawed = true
            throw .failed("of \(what): \(flaw)")
        }
        return ""
    }

    private static func needs(_ bench: FilterBench) throws(CheckStop) -> String {
        guard bench.functions.needs != nil else { throw .skipped("it has no needs") }
        try bench.onNewInstance { filter throws(CheckStop) in
            let bits = [filter.needs, filter.needs].map { $0 ?? 0 }
            guard bits[0] == bits[1] else { throw .failed("needs returns another value when it is called again") }
            guard bits[0] & ~FilterEntry.flags == 0 else {
                throw .failed("needs has bits that do not exist: expected some of CARILLON_FILTER_ASKS_...")
            }
            guard FilterEntry.need(bits[0]) <= bench.functions.entry.maxNeeded else {
                throw .failed("needs requests more than the filter's flags allow")
            }
        }
        return ""
    }

    private static func secrets(_ bench: FilterBench) throws(CheckStop) -> String {
        guard !bench.decisions.isEmpty else { throw .skipped("it decided nothing") }
        let secrets = [FilterInquiry.secret, FilterInquiry.key, FilterInquiry.recipientKey].map { Array($0.utf8) }
        try bench.onNewInstance { filter throws(CheckStop) in
            for (what, inquiry) in regular(bench) {
                let sets = filter.decide(inquiry).sets.filter { $0.field.elementsEqual("reason".utf8) }
                for secret in secrets where sets.contains(where: { Bytes.contain($0.value, secret) }) {
                    throw .failed("for \(what), its reason repeats content or a key")
                }
            }
            let lines = filter.host.log.lines
            for secret in secrets where lines.contains(where: { Bytes.contain($0, secret) }) {
                throw .failed("it logs content or a key: never log an event's content or its recipient")
            }
        }
        return ""
    }

    private static func hostileText(_ bench: FilterBench) throws(CheckStop) -> String {
        let note = FilterSamples.regular[0].inquiry
        try bench.onNewInstance { filter throws(CheckStop) in
            func ask(_ what: String, _ inquiry: FilterInquiry) throws(CheckStop) {
                bench.at(what)
                let flaw = filter.decide(inquiry).flaw
                if let flaw, !bench.isFlawed { throw .failed("of \(what): \(flaw)") }
            }
            for (what, text) in HostileInput.texts + [("nothing", [])] {
                for (name, place) in FilterInquiry.texts {
                    try ask("\(what) as \(name)", note.with { $0[keyPath: place] = text })
                }
            }
            // In Python a filter gets objects, and relies on the fields of every verified event.
            let isGivenBytes = (try? bench.requireStructs()) != nil
            let lists = FilterSamples.hostileLists + HostileInput.configurations.map { ($0.what, $0.text) }
            for (what, list) in lists where isGivenBytes {
                try ask("\(what) as a list", note.with { $0.lists = [list] })
                try ask("\(what) as an event", note.with { $0.event = list })
            }
            for distance in [-1, 5, Int32.max] { try ask("distance \(distance)", note.with { $0.distance = distance }) }
            for number in [0, UInt64.max] {
                try ask(
                    "the number \(number)",
                    note.with {
                        $0.now = number
                        $0.zapMillisats = number
                    }
                )
            }
        }
        return ""
    }

    private static func borrowedMemory(_ bench: FilterBench) throws(CheckStop) -> String {
        try bench.requireStructs()
        try bench.onNewInstance(.guarded) { filter throws(CheckStop) in
            for (what, inquiry) in regular(bench) {
                bench.at(what)
                filter.decide(inquiry, .guarded)
                // A second time, after the first call's memory was overwritten.
                filter.decide(inquiry, .guarded)
            }
        }
        return ""
    }

    private static func newerHost(_ bench: FilterBench) throws(CheckStop) -> String {
        try bench.requireStructs()
        try skipUndecided(bench)
        try bench.onNewInstance(.guarded, .longer) { filter throws(CheckStop) in
            for (what, inquiry) in regular(bench)
            where filter.decide(inquiry, .guarded, .longer).status != .CARILLON_OK {
                throw .failed(
                    "it cannot decide about \(what) when the host's structs are longer than it knows: compare "
                        + "struct_size with \">=\", or use CARILLON_HAS"
                )
            }
        }
        return ""
    }

    private static func threads(_ bench: FilterBench) throws(CheckStop) -> String {
        let inquiries = regular(bench).map(\.inquiry)
        try bench.onNewInstance { filter throws(CheckStop) in
            DispatchQueue.concurrentPerform(iterations: threadCount) { thread in
                for count in 0..<decisionsOfAThread { filter.decide(inquiries[(thread + count) % inquiries.count]) }
            }
        }
        return "\(threadCount * decisionsOfAThread) decisions from \(threadCount) threads"
    }

    private static func shutdown(_ bench: FilterBench) throws(CheckStop) -> String {
        for _ in 0..<3 {
            try bench.onNewInstance { filter throws(CheckStop) in filter.decide(regular(bench)[0].inquiry) }
        }
        return ""
    }

    private static func skipUndecided(_ bench: FilterBench) throws(CheckStop) {
        guard
            bench.decisions.count < FilterSamples.regular.count
                || bench.decisions.contains(where: { $0.decision.status != .CARILLON_OK })
        else { return }
        throw .skipped("it cannot decide, which another check reports")
    }

    /// Returns the typical events, with lists of the kinds that the filter requests.
    private static func regular(_ bench: FilterBench) -> [(what: String, inquiry: FilterInquiry)] {
        let lists = bench.functions.entry.wantedKinds.map(FilterSamples.list)
        return FilterSamples.regular.map { sample in (sample.what, sample.inquiry.with { $0.lists = lists }) }
    }
}
