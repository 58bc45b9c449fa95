// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The system calls for files, and the clocks that are read with them.
///
/// Each function has the name, the arguments and the result of the call of the C library. It calls that, or the
/// ``SystemSimulation`` that is bound to the thread. If no simulation exists in the process, a call costs a load and a
/// comparison more than the C library's.
package enum FileCalls {
    /// The number of simulations that are bound to threads of the process.
    private static let simulations = Atomic<Int>(0)
    /// The key of each thread's ``Binding``.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        // It fails if a process has 1,024 keys.
        precondition(pthread_key_create(&key, nil) == 0, "no key for data of threads")
        return key
    }()

    private final class Binding {
        let simulation: any SystemSimulation

        init(_ simulation: any SystemSimulation) { self.simulation = simulation }
    }

    /// The simulation that is bound to the thread, if any.
    @inline(__always)
    package static var simulation: (any SystemSimulation)? {
        self.simulations.load(ordering: .relaxed) == 0 ? nil : self.bound()
    }

    @inline(never)
    private static func bound() -> (any SystemSimulation)? {
        pthread_getspecific(self.key).map { Unmanaged<Binding>.fromOpaque($0).takeUnretainedValue().simulation }
    }

    /// Binds a simulation to the thread while `body` runs.
    package static func simulating<Result>(
        _ simulation: any SystemSimulation,
        _ body: () throws -> Result
    ) rethrows -> Result {
        let outer = pthread_getspecific(self.key)
        let binding = Binding(simulation)
        self.simulations.add(1, ordering: .relaxed)
        pthread_setspecific(self.key, Unmanaged.passUnretained(binding).toOpaque())
        defer {
            pthread_setspecific(self.key, outer)
            self.simulations.subtract(1, ordering: .relaxed)
        }
        return try withExtendedLifetime(binding) { try body() }
    }

    // MARK: Time

    /// Nanoseconds of a clock (clock_gettime(2)).
    package static func nanoseconds(of clock: clockid_t) -> Int64 {
        if let simulation { return simulation.nanoseconds(of: clock) }
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Sleeps (usleep(3)).
    package static func sleep(microseconds: Int) {
        if let simulation { return simulation.sleep(microseconds: microseconds) }
        usleep(UInt32(clamping: microseconds))
    }
}

/// The random numbers of the system, or of the ``SystemSimulation`` that is bound to the thread.
package struct SystemRandom: RandomNumberGenerator {
    private var generator = SystemRandomNumberGenerator()

    /// Creates a generator.
    package init() {}

    /// 64 random bits.
    package mutating func next() -> UInt64 { FileCalls.simulation?.randomNumber() ?? self.generator.next() }

    /// Returns random bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        var random = Self()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
}
