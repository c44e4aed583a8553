import CarillonLab
import Core
import DeliveryTestSupport
import Foundation
import HTTPClient
import Logging
import PluginHost
import Push
import Synchronization
import TimeTestSupport

@testable import Delivery

/// A router's second half for one row: outbox, courier, built plugin, real connections, and the lab at the other end.
/// No part of it waits for the machine's clock.
final class StatusBench: Sendable {
    /// A registration is this old: 2023-11-14.
    static let registeredAt: Timestamp = 1_700_000_000_000

    let service: any PushService
    let lab: Lab
    let time = ManualTime(now: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)))
    let books = Books()
    let devices = Devices()
    let courier: Courier
    private let plugins: PluginHost
    private let instances: [QueueName: TransportInstance]
    private let folder: URL
    /// Distinguishes its devices from those of other benches on the same stage.
    private let number = StatusBench.count.add(1, ordering: .relaxed).newValue
    private static let count = Atomic(0)

    /// Runs `body` with a bench and takes it down again: on the suite's stage, or on its own.
    static func with(
        _ service: some PushService,
        _ body: (StatusBench) async throws -> Void
    ) async throws {
        await Turnstile.benches.enter()
        let result: Result<Void, any Error>
        do {
            if let stage = Stage.shared {
                try await with(service, stage, isShared: true, body)
            } else {
                try await Stage.with(service) { try await with(service, $0, isShared: false, body) }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await Turnstile.benches.leave()
        try result.get()
    }

    private static func with(
        _ service: some PushService,
        _ stage: Stage,
        isShared: Bool,
        _ body: (StatusBench) async throws -> Void
    ) async throws {
        let bench = try StatusBench(service, stage)
        let result: Result<Void, any Error>
        do { result = .success(try await body(bench)) } catch { result = .failure(error) }
        // So that no caller waits for an answer that does not come.
        if !isShared { await stage.lanes.shutdown() }
        await bench.shutDown()
        try result.get()
    }

    private init(_ service: some PushService, _ stage: Stage) throws {
        self.service = service
        lab = stage.lab
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        plugins = try BuiltPlugins.host()
        var instances: [QueueName: TransportInstance] = [:]
        for app in App.allCases {
            let block = try JSONSerialization.data(withJSONObject: try service.block(app, stage.lab))
            instances[QueueName(platform: service.platform, app: app.rawValue)] = try plugins.makeTransport(
                platform: service.platform,
                app: app.rawValue,
                configuration: String(decoding: block, as: UTF8.self),
                settings: InstanceSettings(
                    sender: stage.lanes,
                    log: log,
                    now: { [time] in Deadline(milliseconds: time.now.milliseconds) }
                )
            )
        }
        self.instances = instances
        folder = FileManager.default.temporaryDirectory.appending(path: "carillon-status-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        courier = try Courier(
            CourierEnvironment(
                store: try Outbox(path: folder.appending(path: "outbox").path),
                directory: devices,
                observer: books,
                now: { [time] in time.now },
                alarm: time,
                random: LargestGenerator(),
                host: { URLParts($0.token)?.origin.host },
                transport: { [instances] queue in instances[queue] }
            ),
            log: log
        )
        courier.start()
    }

    private func shutDown() async {
        await courier.shutdown(deadline: .distantFuture)
        for instance in instances.values { _ = await plugins.retire(instance, within: .seconds(1)) }
        try? FileManager.default.removeItem(at: folder)
    }

    func register(_ device: TestDevice) throws -> (device: DeviceID, place: Place) {
        let place = try service.place(device, lab, bench: number)
        let id = devices.register(
            DeviceAddress(
                platform: service.platform,
                app: device.app.rawValue,
                token: place.token,
                fields: place.fields,
                registeredAt: Self.registeredAt
            )
        )
        return (id, place)
    }

    /// Puts an alert for each device into the outbox, in one go; returns the deliveries' ids.
    @discardableResult
    func accept(_ devices: [(DeviceID, App)]) throws -> [DeliveryID] {
        let deliveries = devices.map { device, app in
            Delivery(
                id: "\(UUID().uuidString.lowercased())",
                device: device,
                platform: service.platform,
                app: app.rawValue,
                notification: service.notification,
                acceptedAt: time.now
            )
        }
        try courier.accept(deliveries)
        return deliveries.map(\.id)
    }

    /// Waits until a request has reached the lab, and then advances the time past the plugin's deadline for a delivery.
    func letDeadlinePass(ofRequestTo target: String) async throws {
        try await lab.waitFor(count: 1, timeout: .seconds(60)) { $0.target == target }
        time.advance(by: .minutes(1))
        plugins.expireDeadlines()
    }

    /// Waits for more than `count` reports of `delivery`, moving the clock to the next alarm whenever no delivery is in
    /// progress.
    func reports(of delivery: DeliveryID, after count: Int) async throws -> [DeliveryReport] {
        while true {
            let record = books.record
            let reports = record.of(delivery)
            guard reports.count <= count else { return reports }
            if await isBusy() {
                try await books.record(when: "an attempt ends") { $0.reports.count > record.reports.count }
            } else if books.record.reports.count == record.reports.count, !time.advanceToNextAlarm() {
                throw Books.Overdue(description: "\(delivery) waits for nothing; the books say \(record)")
            }
        }
    }

    /// Whether a delivery is in progress, after all results are processed. Then all others are recorded.
    private func isBusy() async -> Bool {
        await courier.settle()
        if courier.status.contains(where: { $0.inFlight > 0 }) { return true }
        await courier.settle()
        return courier.status.contains { $0.inFlight > 0 }
    }

    /// Waits for the end of `delivery`, and returns all reports of it.
    func untilTheEnd(of delivery: DeliveryID) async throws -> [DeliveryReport] {
        var reports = books.record.of(delivery)
        while reports.last?.kind.isFinal != true {
            reports = try await self.reports(of: delivery, after: reports.count)
        }
        return reports
    }
}

extension Courier {
    /// Returns once all results so far are processed and on disk.
    func settle() async {
        await withCheckedContinuation { continuation in mailbox.queue.async { continuation.resume() } }
        await withCheckedContinuation { continuation in writer.mailbox.queue.async { continuation.resume() } }
    }
}
