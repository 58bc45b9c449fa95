// SPDX-License-Identifier: Apache-2.0
import SessionBehaviours

await BehaviourCommand.run(Array(CommandLine.arguments.dropFirst()))
