"""What is left to learn with: five worlds in one learner, against learners that meet one world only."""
